//go:build !unix

package binaries

import "errors"

func lock(string) (func(), error) {
	return nil, errors.New("a real cluster can be built on Unix only")
}
