package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Format writes a case in the format that [Parse] reads.
func Format(c *Case) ([]byte, error) {
	node, err := nodeOf(reflect.ValueOf(*c))
	if err != nil {
		return nil, fmt.Errorf("write case %s: %w", c.Name, err)
	}
	return yaml.Marshal(node)
}

// nodeOf is a value as YAML, without what is empty, members of structs in the
// order of their declaration.
func nodeOf(v reflect.Value) (*yaml.Node, error) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.Type().Elem().Kind() == reflect.Struct {
			return nodeOf(v.Elem())
		}
		return plainNode(v.Elem().Interface())
	case reflect.Struct:
		return structNode(v)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Struct {
			node := &yaml.Node{Kind: yaml.SequenceNode}
			for i := range v.Len() {
				item, err := nodeOf(v.Index(i))
				if err != nil {
					return nil, err
				}
				node.Content = append(node.Content, item)
			}
			return node, nil
		}
	}
	return plainNode(v.Interface())
}

func structNode(v reflect.Value) (*yaml.Node, error) {
	node := &yaml.Node{Kind: yaml.MappingNode}
	for _, f := range fieldsOf(v.Type()) {
		member := v.FieldByIndex(f.Index)
		// A body that is empty is sent; an expectation of nothing is one.
		empty := member.IsZero() || ((member.Kind() == reflect.Slice || member.Kind() == reflect.Map) && member.Len() == 0)
		if empty {
			continue
		}
		value, err := nodeOf(member)
		if err != nil {
			return nil, err
		}
		node.Content = append(node.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: nameOf(f)}, value)
	}
	return node, nil
}

// plainNode is a decoded JSON value in YAML, maps sorted.
func plainNode(v any) (*yaml.Node, error) {
	switch v := v.(type) {
	case map[string]any:
		node := &yaml.Node{Kind: yaml.MappingNode}
		if len(v) <= 3 {
			node.Style = yaml.FlowStyle
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			key, err := plainNode(k)
			if err != nil {
				return nil, err
			}
			value, err := plainNode(v[k])
			if err != nil {
				return nil, err
			}
			if value.Style&yaml.FlowStyle == 0 && value.Kind != yaml.ScalarNode {
				node.Style = 0
			}
			node.Content = append(node.Content, key, value)
		}
		return node, nil
	case []any:
		node := &yaml.Node{Kind: yaml.SequenceNode}
		if len(v) == 0 {
			node.Style = yaml.FlowStyle
		}
		for _, item := range v {
			value, err := plainNode(item)
			if err != nil {
				return nil, err
			}
			node.Content = append(node.Content, value)
		}
		return node, nil
	case json.Number:
		tag := "!!int"
		if strings.ContainsAny(string(v), ".eE") {
			tag = "!!float"
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: string(v)}, nil
	}
	node := &yaml.Node{}
	return node, node.Encode(v)
}
