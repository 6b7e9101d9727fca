// Package keysecret keeps encryption keys in Secrets: one Secret for each key,
// with what has become of it in annotations.
//
// [Encode] and [Decode] are each other's opposites. A Secret that cannot be decoded
// is nobody's key: callers pass it over, and say so.
//
// The form is that of OpenShift's encryption controllers, under a domain of our own.
package keysecret
