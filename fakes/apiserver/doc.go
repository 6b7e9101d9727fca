// Package apiserver is a fake Kubernetes API server that answers as a real one
// (v1.37) does: one counter of versions, conflicts, finalizers, graceful deletion,
// generations, defaults, validation, watches with every edge of theirs, and the
// exact errors. It is passive. It starts no goroutine, sleeps never, listens
// nowhere, and asks for the time and for randomness only through what it was
// given, so the same requests give the same answers.
//
// [New] makes a server for a unit test; [Server.Do] and [Server.Watch] talk to it
// directly. In front of it stand the packages client (controller-runtime's
// client.Client) and rest (HTTP, for client-go). A simulated cluster puts several
// servers over one [Store] and a path with latency and faults before each: see
// [Caller].
//
// # Objects and copies
//
// The store keeps immutable objects and shares them: with history, with watchers,
// and with whoever asks for [Request].Shared. Without it a caller gets a copy of
// its own. A write copies what is sent, unless [Request].Owned gives it away, and
// of an update only what differs from the stored object: versions share the rest.
// [Options].Guard finds the code that changes a shared object.
//
// # Managed fields
//
// Every write says who made it, and so who owns which field. That is only noted
// beside the stored version; see package apply. Stored objects have no
// metadata.managedFields, and what is answered has them only if the request asks
// by [Request].ManagedFields, as requests over HTTP do. Without it readers see
// objects as if through cache.TransformStripManagedFields, and nothing is ever
// worked out unless somebody applies.
//
// # Encryption at rest
//
// A server may load an EncryptionConfiguration: see [Server.SetEncryption] and the
// package encryption. What it writes of the resources that are configured is kept as the
// bytes that etcd would hold, beside the object, and whoever reads from etcd opens them
// by what he has loaded himself. Get, update, patch and delete fail with a 500 if that
// cannot be done, and so do lists that are not answered from the watch cache. A watch
// cache reads each object once, when its event comes; one that cannot read an event holds
// still for 30 s, and then ends its watches and answers 429 until it can list. What
// [Store.Stored] tells needs no key.
//
// # What is checked, in order
//
// The first check that fails is the answer. Every request:
//
//  1. Authorization, if the request has a user: 403. Nothing is looked up before.
//  2. The resource is served, in this scope and with this verb: 404, 405.
//
// create:
//
//  3. options: 422 on CreateOptions
//  4. the body can be read and is of the kind: 400
//  5. its namespace is that of the path: 400; duplicate owners go, with a warning
//  6. the namespace exists (404) and is not on its way out (403)
//  7. built-in admission of the kind, mutating hooks, and for roles and bindings
//     that nobody gives away what he lacks: 403
//  8. uid, creationTimestamp, a generated name; status, generation and whatever
//     else the kind sets
//  9. validation of metadata and content: 422
//  10. admission policies, then validating hooks
//  11. no resourceVersion is set (500)
//  12. the name is free: 409
//
// update (PUT), and an update of a subresource:
//
//  3. options, body, names in the body against the path: 422, 400
//  4. the object exists (404), or the kind is one that PUT creates
//  5. the uid in the body is the object's: 409
//  6. built-in admission, mutating hooks, escalation
//  7. the resourceVersion is the object's (409), or not needed (422 if it is)
//  8. what the target does not write is put back; the generation may grow
//  9. validation of metadata, content and change: 422
//  10. of pods/resize: limits, and the node with its room: 403; admission policies,
//     validating hooks; quotas
//  11. if the object is being deleted and nothing holds it any more, it goes
//  12. if nothing has changed, nothing is written: no version, no event
//
// patch: content type (415), options (422) and syntax (400) first; then the object
// exists (404); the patch applies (422, 400); then as update from 3 on, names
// first. Without a resourceVersion in it a patch is tried again when another write
// comes between.
//
// apply (a patch of the apply type): the body is of the kind (400) and fits its
// schema (500); nobody else owns what it changes (409), unless forced; then as
// update, or as create if there is no object, for which a user needs the
// permission to create as well (403, after validation).
//
// delete:
//
//  3. options: 400, 422
//  4. the object exists: 404
//  5. preconditions: 409
//  6. hooks; default, kube-system and kube-public stay: 403
//  7. grace of a Pod, finalizers for the propagation policy
//  8. held objects are marked, others go; a Pod is always marked first
//
// deletecollection: options and selectors, then delete for each object in order.
//
// list and watch: options (422), selectors (400), resourceVersion (400 on list,
// 500 on watch, 504 if it is in the future, 410 if it is forgotten; a watch says
// that in an ERROR event).
//
// # Rules
//
// The tests are named after the groups of rules that they show, TestRuleNN…:
//
//	01 metadata on create, generation    10 lists, pages, selectors
//	02 versions and reads                11 namespaces
//	03 optimistic concurrency            13 defaults and built-in admission
//	04 deletion                          14 custom resources
//	05 immutable and reset fields        15 admission hooks
//	06 status and other subresources     16 authorization
//	07 patches                           17 bodies and errors
//	08 apply                             18 dry run, field validation
//	09 watches
//
// Recorded answers of a real server are replayed in the package conformance.
//
// # What is not here
//
// What needs a kubelet (but for logs, see [Options].Logs) and the kinds that
// [Store] knows but does not serve answer 501 NotImplemented, which no real server
// says. Controllers (garbage collection, emptying of namespaces, quotas) are not
// part of an API server: see the package controllermanager. Validation knows the
// rules that controllers meet, not all.
package apiserver
