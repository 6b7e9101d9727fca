// Package deploy makes the manifests by which the programs of this project are installed.
package deploy
