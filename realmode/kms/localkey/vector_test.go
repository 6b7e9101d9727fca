package localkey_test

import (
	"encoding/base64"
	"testing"
)

// ids are those of the versions in TestFormat.
var ids = []string{"local-v1-7f932cc69115489a", "local-v2-808bab0d6ac46ea9"}

// sealedOnce is what its first version has sealed on the day when the format was made.
func sealedOnce(t *testing.T) []byte {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString("Lgt7FRZ2UMKX8rRDkVNnJf4ninumEu1ilo41Kt2WHbgMNt85O/MtzOlm2zmJJg==")
	if err != nil {
		t.Fatal(err)
	}
	return data
}
