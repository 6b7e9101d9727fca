package names

import "time"

// Tests may use real time.
var _ = time.Now()
