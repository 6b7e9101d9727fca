// Package webhook decides about Pods and Secrets before they are stored: it gives Pods
// the shadows of the Secrets that they refer to, and refuses Secrets that cannot be
// protected.
//
// [Pods] mutates. It lets no Pod through that would get a real value while a shadow
// should be there: what it does not know it refuses. [Secrets] validates.
// [Configurations] says which requests are to be asked about; workloads and Secrets
// without labels are not, so a webhook that is down cannot hurt them.
//
// The package knows no HTTP and no AdmissionReview: whoever serves it does.
package webhook
