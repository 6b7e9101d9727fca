// Package store keeps immutable objects with revisions and history, as etcd and
// the watch cache of an API server do together. It knows no kinds.
//
// One [Store] has one revision counter. Objects live in tables, one per
// resource. A write makes a new revision, gives the object that resourceVersion,
// and appends to the table's history. Objects handed to the store belong to it,
// and nobody changes them from then on: reads, lists, events and history all
// share them, and so a read costs no copy and an event costs a pointer.
//
// # Reading
//
// [Table.Get] and [Table.List] read the newest state. A list may ask for an old
// revision (the state is rebuilt from history), for a page of it, and for part
// of it by a [Selector]. Equality on a label or on a declared field is answered
// from an index, which is made the first time that somebody asks.
//
// # Writing
//
// [Table.Create], [Table.Update] and [Table.Delete]. An update or delete names
// the object it was computed from; if that is no longer the stored one it fails
// with [ErrConflict], so a read-modify-write needs no lock across the two.
//
// A writer may leave a [Mark] beside a version. Whoever reads a version can ask
// for it, however old the version is.
//
// # Watching
//
// A [Cursor] is fed by the writes that match its selector: each write looks up
// the cursors that may care by namespace, name, label or field value, so it
// costs as much as the cursors it reaches. A cursor never blocks and has no
// goroutine: its reader asks for the next event, and is told by a callback when
// there is one again.
//
// A [View] is what one server instance sees of the store: everything, or
// nothing after a certain revision.
//
// # Forgetting
//
// History is bounded. [Store.Compact] drops the right to read old lists, as a
// compaction of etcd does; [Store.Forget] drops the events too, as a restart of
// the API server does.
//
// All methods are safe for concurrent use. Callbacks run on the goroutine of the
// write that causes them, after the store is unlocked, in the order in which
// their cursors were opened.
package store
