package leaks

import (
	"context"
	"encoding/json"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Object says what an object gives away, as JSON, or returns "".
func Object(x *Index, o any) string {
	text, err := json.Marshal(o)
	if err != nil {
		return "" // it could not be stored either
	}
	return x.Find(text)
}

// Objects lists objects, as JSON, and says what they give away: an error, unless it is
// nothing. The lists say which.
func Objects(ctx context.Context, c client.Reader, x *Index, lists ...client.ObjectList) error {
	for _, list := range lists {
		if err := c.List(ctx, list); err != nil {
			return fmt.Errorf("list objects: %w", err)
		}
		text, err := json.Marshal(list)
		if err != nil {
			return fmt.Errorf("encode objects: %w", err)
		}
		if found := x.Find(text); found != "" {
			return fmt.Errorf("an object in a %T shows a piece of the %s", list, found)
		}
	}
	return nil
}
