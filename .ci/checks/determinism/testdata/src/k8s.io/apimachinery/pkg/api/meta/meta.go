// Package meta stands in for the real one.
package meta

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

func SetStatusCondition(conditions *[]metav1.Condition, c metav1.Condition) bool { return true }
