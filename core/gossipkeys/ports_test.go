package gossipkeys_test

import (
	"github.com/hashicorp/memberlist"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
)

// The real library's keyring is the port as it is.
var _ gossipkeys.Keyring = (*memberlist.Keyring)(nil)
