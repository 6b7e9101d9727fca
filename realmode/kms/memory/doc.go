// Package memory keeps what a process has in its memory from getting elsewhere: into a
// swap file, a core dump, or a debugger of the same user.
//
// It is all or nothing, for the whole process: the runtime moves and copies what a
// program has, so that to lock the page of one key would protect one of its copies.
package memory
