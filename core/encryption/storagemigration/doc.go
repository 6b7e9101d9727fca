// Package storagemigration lets the cluster's own migrator rewrite the objects of a
// resource: it asks by a StorageVersionMigration, and reads from its conditions how
// far that has come. It is an alternative to package migration, and like it an
// encryption.Migrator.
//
// An object is for one run: its annotation [WriteKeyAnnotation] has all that makes the
// run another one, and an object for another run is deleted first. That a run has
// ended well is believed only of the object that the API server has at that moment,
// for a cache may show one of before.
//
// The cluster's migrator tries an object that it cannot write again and again; so a
// run may go on for ever where the one of package migration fails and says why.
package storagemigration
