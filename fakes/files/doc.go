// Package files is a file system in memory, for tests of code that takes its files
// through a port. Files are their paths; directories need not be made.
//
// It does what it is asked at once, and what goes wrong is told in advance: a full disk,
// syncs and renames that fail, directories and files that cannot be read, things that
// are no regular files. What a power failure leaves is the business of sim/disk; here
// everything written stays.
package files
