package form

import (
	"fmt"
	"reflect"
	"testing"
)

func TestDefaultsMustBeWritable(t *testing.T) {
	type inner struct {
		Heat string `yaml:"heat" enum:"low high"`
	}
	type config struct {
		inner
		Size  string `yaml:"size" enum:"small large"`
		Count int    `yaml:"count" form:"min=2,max=9"`
		Deep  inner  `yaml:"deep"`
	}
	for _, test := range []struct {
		config config
		want   string
	}{
		{config{}, "<nil>"},
		{config{Size: "large", Count: 9, Deep: inner{"low"}, inner: inner{"high"}}, "<nil>"},
		{config{Size: "huge"}, `the default "huge" of size is not one of small, large`},
		{config{Count: 1}, "the default 1 of count is not from 2 to 9"},
		{config{inner: inner{"none"}}, `the default "none" of heat is not one of low, high`},
		{config{Deep: inner{"none"}}, `deep: the default "none" of heat is not one of low, high`},
	} {
		if err := NewForms().CheckDefaults(reflect.ValueOf(test.config)); fmt.Sprint(err) != test.want {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
}

// TestEnumsAreSeparatedBySpaces: with commas no value of the field would be
// accepted, and the message would name all of them.
func TestEnumsAreSeparatedBySpaces(t *testing.T) {
	type config struct {
		Size string `yaml:"size" enum:"small,large"`
	}
	defer func() {
		const want = `form: form.config.Size: enum "small,large": values are separated by spaces`
		if r := recover(); r != want {
			t.Errorf("got %v, want %s", r, want)
		}
	}()
	NewForms().ShapeOf(reflect.TypeFor[config]())
}
