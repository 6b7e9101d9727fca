// Package shadow keeps, beside each Secret that is to be protected, a shadow: a Secret
// with the same keys, whose values are placeholders. Pods get the shadow in place of
// the Secret.
//
// [SecretReconciler] runs on every node at once, without a leader. Each of its writes
// is bound to what it has read, and [Plan] keeps whatever placeholder still fits: so
// agents that race, restart or lag behind come to the same shadow.
//
// A Secret that only looks like a shadow is nobody's business here: what is not [Owned]
// is never overwritten, deleted or believed.
package shadow
