// Package told collects everything that runs leave behind for people and machines to
// read: traces, stories, reports, replay files. Tests look there for what nobody may be
// told.
package told
