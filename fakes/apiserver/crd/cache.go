package crd

import (
	"encoding/json"
	"fmt"
	"sync"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Cache remembers compiled definitions and the verdicts on new ones, by their
// content. It is safe for concurrent use. The zero Cache is ready.
type Cache struct {
	mu          sync.Mutex
	definitions map[string]*Definition
	verdicts    map[string]verdict
}

// Definition compiles d, whose names have been accepted. The result does not
// refer to d.
func (c *Cache) Definition(d *apiextensions.CustomResourceDefinition) *Definition {
	key := contentOf(struct {
		Spec  *apiextensions.CustomResourceDefinitionSpec
		Names *apiextensions.CustomResourceDefinitionNames
	}{&d.Spec, &d.Status.AcceptedNames})
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.definitions[key]
	if !ok {
		known = newDefinition(d)
		if c.definitions == nil {
			c.definitions = map[string]*Definition{}
		}
		c.definitions[key] = known
	}
	return known
}

// contentOf is a text that is the same for the same content.
func contentOf(v any) string {
	data, err := json.Marshal(v)
	if err != nil { // a default that is not JSON: no decoder lets it pass
		return fmt.Sprintf("%+v", v)
	}
	return string(data)
}
