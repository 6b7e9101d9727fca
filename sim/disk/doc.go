// Package disk simulates the file system of one machine: what is written is in
// memory until it is synced, and a power failure loses or tears the rest.
//
// The rules are POSIX's at its worst, because that is what code must survive:
//
//  1. A write is durable after Sync of the file.
//  2. A file's name, a rename and a removal are durable after SyncDir of the
//     directory, even if the file itself was synced.
//  3. PowerLoss keeps, of writes that were not synced, any subset: each one is kept,
//     torn at a sector, or lost. Of changes to names it keeps a beginning, in order;
//     a rename happens whole or not at all.
//  4. A failed Sync has lost the data: a second Sync succeeds and changes nothing
//     (as Linux does).
//
// The crash of a process loses nothing: what it wrote is in the kernel's memory.
//
// The package has two faces. [Disk] is passive: each method acts at once, and may be
// called from callbacks. [FS], made by [Disk.Mount] for a process, is for tasks: each
// method takes time and is a scheduling point, so that a crash can come before it or
// after it. Choices are streams of the engine, labelled "fault/disk-lose/<name>" and
// so on; outcome 0 is always that nothing is lost.
//
// The package knows no permissions, links, or open files: a file is its path.
package disk
