// Package table knows how objects look as rows: the columns that `kubectl get`
// and `kubectl get -o wide` show, computed as a real API server computes them.
//
// [Builtin] has the columns of the kinds that every cluster has, [Custom] those
// that a CustomResourceDefinition declares, [Plain] those of kinds for which
// nobody declares any. [Columns.Rows] makes the rows of objects. Ages are counted
// to a time that is handed in; nothing here reads a clock, and nothing is kept.
//
// What else belongs to an answer of kind Table, the object in each row above
// all, is up to the package rest.
package table
