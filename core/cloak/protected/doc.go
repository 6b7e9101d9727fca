// Package protected reads what a Secret asks for that is to be protected: where its
// values may go, and whether placeholders can stand in for them.
//
// [Inspect] tells what is wrong, in the words of events, conditions and refusals. The
// webhook refuses such Secrets; controllers and agents do not rely on it, and inspect
// what they read themselves.
package protected
