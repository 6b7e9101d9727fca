// Package migration rewrites the objects of a resource, in the process of the
// controllers: it reads them page by page and writes each back as it is. An API
// server that writes with another key than an object is encrypted with stores it
// anew; one that does not, does nothing, so it is the caller who knows when a run
// is worth something.
//
// [Migrator] is encryption.Migrator. Runs are made by [Migrator.Run], which the
// process calls once; EnsureMigration and PruneMigration only say which there
// should be. Runs are kept in memory: after a restart they begin anew.
package migration
