// Package protected reads and writes files that nobody else may read: key files, tokens
// and credentials. It refuses files that are open to others, instead of mending them:
// what was in them may be known by then.
package protected
