package encryption

// Names of the properties, by the number that the specification gives them.
const (
	readable       = "everything-stays-readable"           // I1
	mutual         = "servers-read-each-other"             // I2
	dropped        = "keys-are-dropped-when-nothing-needs" // I3
	keysKept       = "keys-in-use-are-kept"                // I4
	idsUnique      = "ids-are-never-reused"                // I5
	runsCount      = "runs-count-only-under-one-key"       // I6
	migratedMeans  = "migrated-means-rewritten"            // I7
	encryptedMeans = "encrypted-means-encrypted"           // I8
	oneStep        = "one-step-at-a-time"                  // I9
	approvedKeys   = "kms-keys-are-approved"               // I10
	ownConditions  = "conditions-have-one-writer"          // I11
	noChecks       = "no-check-during-a-cycle"             // I12
	oneCheck       = "one-check-at-a-time"                 // I13
	oneCycle       = "one-cycle-at-a-time"                 // I14
	configsValid   = "configurations-are-valid"            // I15
	pluginsAgree   = "plugin-data-agrees"                  // I16
	staleWrites    = "no-write-from-an-old-look"           // I17
	keysSecret     = "keys-stay-secret"                    // I18
	configStays    = "configurations-do-not-vanish"        // I19
	quiet          = "quiet-when-all-is-done"              // I20
	policyMet      = "the-policy-is-met"                   // L1
	checksUnblock  = "checks-do-not-block-the-next"        // L2
	repairs        = "deleted-objects-come-back"           // L3
	rotations      = "one-key-for-each-reason"             // L4
	checkCleanedUp = "successful-checks-are-cleaned-up"    // L5
	decrypts       = "turning-off-ends-in-plain-text"      // L6
	checkRetried   = "checks-are-made-again"               // L7
	deadPlugins    = "dead-plugins-are-left-behind"        // L8
)
