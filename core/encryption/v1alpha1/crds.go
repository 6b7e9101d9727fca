package v1alpha1

import "embed"

// CRDs are the CustomResourceDefinitions of the kinds of this package, in the folder
// crds, as they are installed in a cluster.
//
//go:embed crds/*.yaml
var CRDs embed.FS
