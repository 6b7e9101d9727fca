package cloak

import "time"

const (
	// AnnotationEnabled is the annotation that enables the cloak for a Pod. The webhook
	// writes it, and the agents on the nodes look at nothing else. As a label of a
	// Namespace or of a Pod it asks the webhook for that.
	AnnotationEnabled = "getkloak.io/enabled"

	// CgroupBasePath is where cgroups v2 are mounted.
	CgroupBasePath = "/sys/fs/cgroup"
)

const (
	// AnnotationSecretEnabled is the label or annotation of a Secret that is to be
	// protected.
	AnnotationSecretEnabled = "getkloak.io/enabled"

	// AnnotationPort is the annotation with the port that a Secret may go to.
	AnnotationPort = "getkloak.io/port"

	// AnnotationHosts is the annotation with the host that a Secret may go to.
	AnnotationHosts = "getkloak.io/hosts"

	// AnnotationHTTP is the annotation of a Secret whose values are sent over HTTP/1.1 only,
	// with the value "1.1": then also those can be protected for which no placeholder has
	// the length in HPACK.
	AnnotationHTTP = "getkloak.io/http"

	// ShadowSecretSuffix ends the name of the Secret with the placeholders.
	ShadowSecretSuffix = "-kloak"

	// AnnotationCondition is the annotation of a protected Secret that says whether it is,
	// and why not. Secrets have no status.
	AnnotationCondition = "getkloak.io/condition"

	// AnnotationPrevious is the annotation of a shadow with the placeholders of before.
	AnnotationPrevious = "getkloak.io/previous"

	// LabelManaged is the label of a shadow, with the value "true".
	LabelManaged = "getkloak.io/managed"

	// LabelOwner is the label of a shadow with the name of the Secret it is for.
	LabelOwner = "getkloak.io/owner"
)

// The cluster DNS Service, whose answers the data plane trusts.
const (
	KubeDNSNamespace = "kube-system"
	KubeDNSName      = "kube-dns"
)

// DefaultNRISocket is where containerd and CRI-O serve NRI unless told otherwise.
const DefaultNRISocket = "/var/run/nri/nri.sock"

// DefaultSecretResyncPeriod is how often the data plane's secrets are synced when no
// Secret changes: it releases virtual IPs whose retention is over, and repairs maps
// that have drifted.
const DefaultSecretResyncPeriod = 5 * time.Minute
