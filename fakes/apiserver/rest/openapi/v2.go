package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// V2 makes the one document of version 2 out of documents of version 3. Its
// definitions are those that a real server publishes; of its paths, parameters
// are written out where a real server refers to shared ones.
//
// What version 2 cannot say is left out: defaults, and that a value may be of
// several types or null.
//
// Documents of custom resources are made in version 2 as well. They add what the
// built-in kinds do not say already.
func V2(documents [][]byte, custom ...*spec.Swagger) ([]byte, error) {
	definitions, paths := map[string]any{}, map[string]any{}
	var info any
	for _, data := range documents {
		var doc struct {
			Info       any
			Paths      map[string]map[string]any
			Components struct{ Schemas map[string]map[string]any }
		}
		if err := json.Unmarshal(data, &doc); err != nil {
			return nil, fmt.Errorf("read an OpenAPI document: %w", err)
		}
		info = doc.Info
		for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
			definition := schemaV2(doc.Components.Schemas[name])
			if known, ok := definitions[name].(map[string]any); ok {
				definition[kinds] = union(known[kinds], definition[kinds])
			}
			if definition[kinds] == nil {
				delete(definition, kinds)
			}
			definitions[name] = definition
		}
		for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
			paths[path] = pathV2(doc.Paths[path])
		}
	}
	out := map[string]any{
		"swagger": "2.0", "info": info, "definitions": definitions, "paths": paths,
		"securityDefinitions": map[string]any{"BearerToken": map[string]any{
			"type": "apiKey", "name": "authorization", "in": "header", "description": "Bearer Token authentication",
		}},
		"security": []any{map[string]any{"BearerToken": []any{}}},
	}
	parameters := map[string]any{}
	for _, doc := range custom {
		for _, name := range slices.Sorted(maps.Keys(doc.Definitions)) {
			addMissing(definitions, name, doc.Definitions[name])
		}
		for _, name := range slices.Sorted(maps.Keys(doc.Parameters)) {
			addMissing(parameters, name, doc.Parameters[name])
		}
		for _, path := range slices.Sorted(maps.Keys(doc.Paths.Paths)) {
			addMissing(paths, path, doc.Paths.Paths[path])
		}
	}
	if len(parameters) > 0 {
		out["parameters"] = parameters
	}
	return json.Marshal(out)
}

func addMissing(to map[string]any, name string, value any) {
	if _, known := to[name]; !known {
		to[name] = value
	}
}

// kinds lists the kinds that a schema is of. Some schemas are part of each group,
// and of other kinds there.
const kinds = "x-kubernetes-group-version-kind"

func union(a, b any) any {
	list, _ := a.([]any)
	more, _ := b.([]any)
	if len(more) == 0 {
		return a
	}
	list = slices.Clone(list)
	for _, kind := range more {
		if !slices.ContainsFunc(list, func(k any) bool { return equalKinds(k, kind) }) {
			list = append(list, kind)
		}
	}
	slices.SortFunc(list, func(a, b any) int { return slices.Compare(kindOf(a), kindOf(b)) })
	return list
}

func kindOf(v any) []string {
	m, _ := v.(map[string]any)
	var out []string
	for _, name := range []string{"group", "version", "kind"} {
		s, _ := m[name].(string)
		out = append(out, s)
	}
	return out
}

func equalKinds(a, b any) bool { return slices.Equal(kindOf(a), kindOf(b)) }

// schemaV2 is a schema as version 2 can say it.
func schemaV2(schema map[string]any) map[string]any {
	out := map[string]any{}
	for _, keyword := range slices.Sorted(maps.Keys(schema)) {
		value := schema[keyword]
		switch keyword {
		case "default", "nullable", "anyOf":
		case "oneOf": // a number or a string: the string can be both
			out["type"] = "string"
		case "$ref":
			out[keyword] = referenceV2(value)
		case "allOf": // how version 3 puts something beside a reference
			for _, part := range asList(value) {
				if target, ok := asMap(part)["$ref"]; ok {
					out["$ref"] = referenceV2(target)
				}
			}
		case "properties":
			properties := map[string]any{}
			for _, name := range slices.Sorted(maps.Keys(asMap(value))) {
				properties[name] = schemaV2(asMap(asMap(value)[name]))
			}
			out[keyword] = properties
		case "items", "additionalProperties":
			if inner, ok := value.(map[string]any); ok {
				out[keyword] = schemaV2(inner)
			} else {
				out[keyword] = value
			}
		default:
			out[keyword] = value
		}
	}
	return out
}

func referenceV2(v any) string {
	s, _ := v.(string)
	return strings.Replace(s, "#/components/schemas/", "#/definitions/", 1)
}

func asMap(v any) map[string]any { m, _ := v.(map[string]any); return m }
func asList(v any) []any         { l, _ := v.([]any); return l }

// pathV2 is what can be done with one path.
func pathV2(item map[string]any) map[string]any {
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(item)) {
		if name == "parameters" {
			out[name] = parametersV2(asList(item[name]))
		} else {
			out[name] = operationV2(asMap(item[name]))
		}
	}
	return out
}

func operationV2(operation map[string]any) map[string]any {
	out := map[string]any{"schemes": []string{"https"}}
	var parameters []any
	for _, name := range slices.Sorted(maps.Keys(operation)) {
		value := operation[name]
		switch name {
		case "parameters":
			parameters = append(parameters, parametersV2(asList(value))...)
		case "requestBody":
			types, schema := contentV2(asMap(value))
			body := map[string]any{"name": "body", "in": "body", "schema": schema}
			if required, _ := asMap(value)["required"].(bool); required {
				body["required"] = true
			}
			out["consumes"] = types
			parameters = append([]any{body}, parameters...)
		case "responses":
			responses := map[string]any{}
			for _, code := range slices.Sorted(maps.Keys(asMap(value))) {
				response := map[string]any{"description": asMap(asMap(value)[code])["description"]}
				if types, schema := contentV2(asMap(asMap(value)[code])); schema != nil {
					out["produces"], response["schema"] = types, schema
				}
				responses[code] = response
			}
			out[name] = responses
		default:
			out[name] = value
		}
	}
	if len(parameters) > 0 {
		out["parameters"] = parameters
	}
	return out
}

// contentV2 are the media types of a body and its schema.
func contentV2(body map[string]any) (types []string, schema map[string]any) {
	content := asMap(body["content"])
	types = slices.Sorted(maps.Keys(content))
	if len(types) == 0 {
		return nil, nil
	}
	return types, schemaV2(asMap(asMap(content[types[0]])["schema"]))
}

// parametersV2 have what their schema says beside their name.
func parametersV2(list []any) []any {
	out := make([]any, len(list))
	for i, v := range list {
		parameter := maps.Clone(asMap(v))
		schema := asMap(parameter["schema"])
		delete(parameter, "schema")
		maps.Copy(parameter, schemaV2(schema))
		out[i] = parameter
	}
	return out
}
