// Package kms is a KMS v2 plugin.
package kms
