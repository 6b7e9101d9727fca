package form

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// CheckDefaults refuses a struct that a file is decoded over if one of its values
// could not be written in a file: not among those of its enum, or outside its
// bounds. The zero value stands for one that was left out. It panics, as
// [Forms.ShapeOf] does, if the type has no written form.
func (f *Forms) CheckDefaults(v reflect.Value) error {
	shape, ok := f.ShapeOf(v.Type()).(structShape)
	if !ok {
		return nil
	}
	for _, field := range shape.fields {
		if err := f.checkDefault(field, v.FieldByIndex(field.index)); err != nil {
			return err
		}
	}
	return nil
}

func (f *Forms) checkDefault(field structField, value reflect.Value) error {
	switch s := field.shape.(type) {
	case enumShape:
		if !value.IsZero() && !slices.Contains(s.names, value.String()) {
			return fmt.Errorf("the default %q of %s is not one of %s", value.String(), field.name, strings.Join(s.names, ", "))
		}
	case intShape:
		if !value.IsZero() && value.CanInt() && !s.within(value.Int()) {
			return fmt.Errorf("the default %d of %s is not%s", value.Int(), field.name, s.bounds())
		}
	case lazyShape:
		if err := f.CheckDefaults(value); err != nil {
			return fmt.Errorf("%s: %w", field.name, err)
		}
	}
	return nil
}
