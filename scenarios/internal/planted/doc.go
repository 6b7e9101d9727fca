// Package planted shows that properties catch bugs: a table says of each bug what
// somebody got wrong, which property catches it, and in which scenario.
//
//	system := planted.System{Name: "home", Registry: …, Bugs: []planted.Bug{…}, Samples: …}
//	system.Catch(t)   // each bug is caught, by its property and no other
//	system.Cover(t)   // each property catches a bug
//
// Package mutant plants them; this one hunts them.
package planted
