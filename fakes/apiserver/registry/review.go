package registry

import (
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
)

// Kinds that are questions, or orders, and never stored.

var onlyCreate = []string{"create"}

var tokenReviews = &Kind{
	GroupVersionKind: authenticationv1.SchemeGroupVersion.WithKind("TokenReview"),
	Names:            Names{Plural: "tokenreviews"},
	Cluster:          true,
	Prototype:        &authenticationv1.TokenReview{},
	Virtual:          onlyCreate,
}

var selfSubjectReviews = &Kind{
	GroupVersionKind: authenticationv1.SchemeGroupVersion.WithKind("SelfSubjectReview"),
	Names:            Names{Plural: "selfsubjectreviews"},
	Cluster:          true,
	Prototype:        &authenticationv1.SelfSubjectReview{},
	Virtual:          onlyCreate,
}

var subjectAccessReviews = &Kind{
	GroupVersionKind: authorizationv1.SchemeGroupVersion.WithKind("SubjectAccessReview"),
	Names:            Names{Plural: "subjectaccessreviews"},
	Cluster:          true,
	Prototype:        &authorizationv1.SubjectAccessReview{},
	Virtual:          onlyCreate,
}

var localSubjectAccessReviews = &Kind{
	GroupVersionKind: authorizationv1.SchemeGroupVersion.WithKind("LocalSubjectAccessReview"),
	Names:            Names{Plural: "localsubjectaccessreviews"},
	Prototype:        &authorizationv1.LocalSubjectAccessReview{},
	Virtual:          onlyCreate,
}

var selfSubjectAccessReviews = &Kind{
	GroupVersionKind: authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectAccessReview"),
	Names:            Names{Plural: "selfsubjectaccessreviews"},
	Cluster:          true,
	Prototype:        &authorizationv1.SelfSubjectAccessReview{},
	Virtual:          onlyCreate,
}

var selfSubjectRulesReviews = &Kind{
	GroupVersionKind: authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectRulesReview"),
	Names:            Names{Plural: "selfsubjectrulesreviews"},
	Cluster:          true,
	Prototype:        &authorizationv1.SelfSubjectRulesReview{},
	Virtual:          onlyCreate,
}

var bindings = &Kind{
	GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Binding"),
	Names:            Names{Plural: "bindings"},
	Prototype:        &corev1.Binding{},
	Virtual:          onlyCreate,
}

var componentStatuses = &Kind{
	GroupVersionKind: corev1.SchemeGroupVersion.WithKind("ComponentStatus"),
	Names:            Names{Plural: "componentstatuses", ShortNames: []string{"cs"}},
	Cluster:          true,
	Prototype:        &corev1.ComponentStatus{},
	Virtual:          []string{"get", "list"},
}
