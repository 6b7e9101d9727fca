// Package layers holds the test that the layer rules of .golangci.yml can fail:
// it plants one forbidden import per arrow and makes sure that each is found,
// and that none of the allowed ones is.
package layers
