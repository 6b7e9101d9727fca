// Package form reads YAML files strictly and says what is wrong with them in
// words a person can act on.
//
// A file is parsed by [Parse] into a [Document] that remembers where everything
// stands. [Forms.Decode] fills a Go value from it: the Go type, with its struct
// tags, is the only description of the format. The same description becomes a
// JSON Schema through [Forms.Schema], so what an editor completes and what the
// decoder accepts cannot drift apart.
//
// Nothing is guessed and nothing is ignored. Every mistake becomes a [Problem]
// with file, line, column, the path of the field, the names that are allowed
// and the nearest of them; decoding goes on after a mistake so that all of a
// file's mistakes are told at once.
//
// # Struct tags
//
//	yaml:"name"        the field's name in the file; fields without it are not read
//	doc:"…"            one or two sentences for the reader and for the schema
//	form:"required"    the field must be present
//	form:"short"       a value that is not a mapping stands for this field alone
//	form:"min=1,max=9" bounds of a whole number
//	enum:"a b c"       the only texts allowed, separated by spaces
//
// A field of type [Place] takes the place of the struct itself.
//
// Scalars with a syntax of their own implement [Text]; names that can only be
// checked once the whole file is known implement [Reference]; everything else
// that a Go type cannot say is a [Shape] set with [Forms.Set].
//
// The package knows no Seedbed: it is the reader that the scenario format is
// built on. It refuses anchors, aliases, merge keys, custom tags and several
// documents in one file, because a scenario is read by people.
package form
