package shape

import (
	"reflect"
	"unsafe"
)

// cell is one field of a struct, or of a struct within it: structs are compared
// as one flat list of cells. Most fields of most objects are empty or plain, so
// the walk looks at those itself and calls a field's ops for the others only.
type cell struct {
	kind   cellKind
	offset uintptr
	ops    *ops
}

type cellKind uint8

const (
	other cellKind = iota // whatever its ops say
	byte1
	byte4
	byte8
	text
	pointer
	list
	table // a map
)

// cells appends the cells of the struct type t, which starts at base.
func (c *compiler) cells(t reflect.Type, base uintptr, out []cell) []cell {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Type.Kind() == reflect.Struct && !special(f.Type) {
			out = c.cells(f.Type, base+f.Offset, out)
			continue
		}
		o := c.compileField(f)
		kind := kindOf(f.Type)
		if o.exact {
			kind = other
		}
		out = append(out, cell{kind, base + f.Offset, o})
	}
	return out
}

func kindOf(t reflect.Type) cellKind {
	switch t.Kind() {
	case reflect.Bool, reflect.Int8, reflect.Uint8:
		return byte1
	case reflect.Int32, reflect.Uint32:
		return byte4
	case reflect.Int, reflect.Int64, reflect.Uint, reflect.Uint64:
		return byte8
	case reflect.String:
		return text
	case reflect.Pointer:
		return pointer
	case reflect.Slice:
		return list
	case reflect.Map:
		return table
	default:
		return other
	}
}

// structure returns the operations on a struct of these cells.
func structure(cells []cell) *ops {
	o := &ops{
		equal: func(a, b unsafe.Pointer) bool { return equalCells(cells, a, b) },
		same:  func(a, b unsafe.Pointer) bool { return sameCells(cells, a, b) },
	}
	var norm []cell
	for _, c := range cells {
		if c.ops.normalize != nil {
			norm = append(norm, c)
		}
	}
	if len(norm) > 0 {
		o.normalize = func(p unsafe.Pointer) { normalizeCells(norm, p) }
	}
	return o
}

func equalCells(cells []cell, a, b unsafe.Pointer) bool {
	for i := range cells {
		c := &cells[i]
		x, y := unsafe.Add(a, c.offset), unsafe.Add(b, c.offset)
		switch c.kind {
		case list:
			s, t := (*sliceHeader)(x), (*sliceHeader)(y)
			if s.len != t.len {
				return false
			}
			if s.len == 0 || s.data == t.data {
				continue
			}
		default:
			if done, ok := quick(c.kind, x, y); done {
				if !ok {
					return false
				}
				continue
			}
		}
		if !c.ops.equal(x, y) {
			return false
		}
	}
	return true
}

func sameCells(cells []cell, a, b unsafe.Pointer) bool {
	for i := range cells {
		c := &cells[i]
		x, y := unsafe.Add(a, c.offset), unsafe.Add(b, c.offset)
		switch c.kind {
		case list:
			s, t := (*sliceHeader)(x), (*sliceHeader)(y)
			if s.len != t.len {
				return false
			}
			if s.data == t.data {
				continue
			}
		default:
			if done, ok := quick(c.kind, x, y); done {
				if !ok {
					return false
				}
				continue
			}
		}
		if !c.ops.same(x, y) {
			return false
		}
	}
	return true
}

// quick compares what needs no more than a look. It is small enough to be inlined.
func quick(k cellKind, x, y unsafe.Pointer) (done, ok bool) {
	switch k {
	case text:
		return true, *(*string)(x) == *(*string)(y)
	case pointer, table:
		p, q := *(*unsafe.Pointer)(x), *(*unsafe.Pointer)(y)
		return p == q, true
	case byte1:
		return true, *(*uint8)(x) == *(*uint8)(y)
	case byte4:
		return true, *(*uint32)(x) == *(*uint32)(y)
	case byte8:
		return true, *(*uint64)(x) == *(*uint64)(y)
	default:
		return false, false
	}
}

func normalizeCells(cells []cell, p unsafe.Pointer) {
	for i := range cells {
		c := &cells[i]
		at := unsafe.Add(p, c.offset)
		// Pointers, lists and maps start with a pointer: nil means nothing to do.
		if c.kind >= pointer && *(*unsafe.Pointer)(at) == nil {
			continue
		}
		c.ops.normalize(at)
	}
}
