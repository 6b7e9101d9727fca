package encryption_test

import "github.com/seedbed-sim/seedbed/scenarios/internal/mutant"

// secrecyBugs are the planted bugs that give secrets away, each in another place.
var secrecyBugs = []planted{
	{
		bug: "a log shows what a key is made of", property: "keys-stay-secret",
		scenario: "rotation/01-aescbc.yaml", seeds: 2,
		Mutant: mutant.Mutant{
			Name: "loggedMaterial", File: core + "key.go",
			Old: "key.Material = secret.New(b)\n",
			New: "key.Material = secret.New(b)\n\t\tk.Log.Info(\"Makes a key\", \"of\", fmt.Sprint(b))\n",
		},
	},
	{
		bug: "a node reports its configuration in place of its hash", property: "keys-stay-secret",
		scenario: "rotation/01-aescbc.yaml", seeds: 2,
		Mutant: mutant.Mutant{
			Name: "reportedConfiguration", File: core + "nodeagent/report.go",
			Old: "want.FileHash = config.FileHash(raw)",
			New: "want.FileHash = string(raw)",
		},
	},
	{
		bug: "an error that only the trace shows has a configuration in it", property: "keys-stay-secret",
		scenario: "rotation/05-by-reload.yaml", seeds: 2,
		Mutant: mutant.Mutant{
			Name: "errorWithConfiguration", File: core + "nodeagent/reload.go",
			Old: "_, err = a.replace(ctx, a.copyOf(revision), whole)\n\treturn err",
			New: "changed, err := a.replace(ctx, a.copyOf(revision), whole)\n\tif changed {\n\t\treturn fmt.Errorf(\"wrote %s\", whole)\n\t}\n\treturn err",
		},
	},
}
