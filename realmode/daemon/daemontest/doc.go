// Package daemontest runs the programs of this project as processes, in the tests of
// their commands. A test binary is the program itself when it is told so:
//
//	func TestMain(m *testing.M) {
//		os.Exit(daemontest.Main(m, func() int { return realMain(os.Args[1:], os.Stdout, os.Stderr) }))
//	}
package daemontest
