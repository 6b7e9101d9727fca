// Package hostile does harm to a world for a while: now and then one of the things that
// its system can suffer, drawn by weight. A system lists its harms and says what each is
// done to; how they follow each other, and how they are told, is here.
package hostile
