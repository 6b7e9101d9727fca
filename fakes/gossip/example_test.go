package gossip_test

import (
	"bytes"
	"fmt"
	"log"
	"slices"
	"time"

	"github.com/seedbed-sim/seedbed/fakes/gossip"
)

// Three nodes share a key. One of them begins to encrypt with a key that the
// others do not have yet: the most likely mistake in a key rotation. It still
// understands them, but they do not understand it.
func Example() {
	lab := gossip.NewLab(7)
	oldKey, newKey := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)

	rings := map[string]*gossip.Ring{}
	nodes := map[string]*gossip.Node{}
	for _, name := range []string{"ant", "bee", "cat"} {
		ring, err := gossip.NewRing(nil, oldKey)
		if err != nil {
			log.Fatal(err)
		}
		cfg := gossip.AgentConfig(name)
		cfg.Keyring = ring
		node, err := lab.Cluster.Create(cfg)
		if err != nil {
			log.Fatal(err)
		}
		node.Join([]string{"ant"}, nil)
		rings[name], nodes[name] = ring, node
		lab.Run(300 * time.Millisecond)
	}
	lab.Run(30 * time.Second)
	fmt.Println("ant lists", members(nodes["ant"]))

	if err := rings["cat"].AddKey(newKey); err != nil {
		log.Fatal(err)
	}
	if err := rings["cat"].UseKey(newKey); err != nil {
		log.Fatal(err)
	}
	fmt.Println("bee talks to cat:", gossip.Talks(nodes["bee"], nodes["cat"]))
	fmt.Println("cat talks to bee:", gossip.Talks(nodes["cat"], nodes["bee"]))

	lab.Run(time.Minute)
	fmt.Println("ant lists", members(nodes["ant"]))
	fmt.Println("cat lists", members(nodes["cat"]))

	// Rings are not enough any more: both sides have forgotten each other. Only a
	// join brings them together.
	for _, name := range []string{"ant", "bee"} {
		if err := rings[name].AddKey(newKey); err != nil {
			log.Fatal(err)
		}
	}
	lab.Run(time.Minute)
	fmt.Println("ant lists", members(nodes["ant"]))
	nodes["cat"].Join([]string{"ant", "bee"}, func(contacted int, err error) {
		fmt.Println("cat joined", contacted, "of 2:", err)
	})
	lab.Run(time.Minute)
	fmt.Println("ant lists", members(nodes["ant"]))
	// Output:
	// ant lists [ant bee cat]
	// bee talks to cat: true
	// cat talks to bee: false
	// ant lists [ant bee]
	// cat lists [cat]
	// ant lists [ant bee]
	// cat joined 2 of 2: <nil>
	// ant lists [ant bee cat]
}

func members(n *gossip.Node) []string {
	names := n.Members()
	slices.Sort(names)
	return names
}
