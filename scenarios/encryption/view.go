package encryption

import (
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
)

// View is what CEL sees as encryption.
type View struct {
	Keys      []KeyView    `cel:"keys"` // the newest first
	Servers   []ServerView `cel:"servers"`
	Managed   string       `cel:"managed"`   // the managed configuration, in words
	Revision  int          `cel:"revision"`  // the latest
	SafeFrom  int          `cel:"safeFrom"`  // the first that may be loaded
	HighestID int          `cel:"highestID"` // of a key
	Encrypted string       `cel:"encrypted"` // the reason of the condition
	Converged bool         `cel:"converged"` // all API servers answer and run the same revision
	Plain     int          `cel:"plain"`     // objects that are stored as they are
	Sealed    int          `cel:"sealed"`    // objects that are encrypted
	Done      bool         `cel:"done"`      // the policy is met
	Leaders   int          `cel:"leaders"`   // leaderships that began
	Deleted   int          `cel:"deleted"`   // key Secrets that controllers deleted
	Degraded  []string     `cel:"degraded"`  // the reasons of conditions that say that something is wrong, with their controllers
	Migrating bool         `cel:"migrating"` // objects are being rewritten
	Leader    string       `cel:"leader"`    // the process that leads

	Lost    bool  `cel:"lost"`    // the condition says that there are objects that nobody can read
	GivenUp []int `cel:"givenUp"` // the ids of keys that are given up, as their plugins are dead

	Checks    int    `cel:"checks"`    // Pods that checked a KMS plugin, ever
	Checking  bool   `cel:"checking"`  // there is such a Pod
	Passed    int    `cel:"passed"`    // checks that passed
	Required  string `cel:"required"`  // the status of the condition by which a check is asked for
	Succeeded string `cel:"succeeded"` // the reason of the condition by which it is answered
	Attempt   int    `cel:"attempt"`   // the number of the check that was asked for last
	KEKs      int    `cel:"keks"`      // different ids of keys of the service that objects are sealed with
}

// KeyView is a key Secret.
type KeyView struct {
	ID       int      `cel:"id"`
	Mode     string   `cel:"mode"`
	Reason   string   `cel:"reason"`
	Migrated []string `cel:"migrated"`
	Valid    bool     `cel:"valid"`
	Path     string   `cel:"path"`  // of a KMS plugin: the key in the service
	Image    string   `cel:"image"` // and the plugin's image
}

// ServerView is an API server.
type ServerView struct {
	Node     string `cel:"node"`
	Answers  bool   `cel:"answers"`
	Draining bool   `cel:"draining"`
	Revision int    `cel:"revision"`
	Refused  string `cel:"refused"` // why it does not start
	Write    int    `cel:"write"`   // the id of the key that it writes with; zero for none
	Read     []int  `cel:"read"`    // the ids of the keys that it reads with
}

func view(s *State) View {
	s.look()
	v := View{
		Keys: []KeyView{}, Servers: make([]ServerView, len(s.nodes)), Managed: describe(s.history.last().config),
		Revision: int(s.policy.Status.LatestRevision), SafeFrom: int(s.policy.Status.MinSafeRevision), HighestID: int(s.policy.Status.HighestKeyID),
		Encrypted: s.condition(v1alpha1.Encrypted).Reason, Converged: true, Done: s.policyIsMet() == nil,
		Leaders: s.count.leaders, Deleted: s.history.deleted,
	}
	for _, k := range s.history.all() {
		id, _ := state.ParseID(k.secret.Name)
		kv := KeyView{ID: int(id), Mode: string(k.key.Mode), Reason: k.key.InternalReason, Migrated: []string{}, Valid: k.err == nil}
		for _, gr := range k.key.Migrated.Resources {
			kv.Migrated = append(kv.Migrated, gr.String())
		}
		if k.key.KMS != nil {
			var plugin v1alpha1.KMS
			if json.Unmarshal([]byte(k.key.KMS.Plugin), &plugin) == nil {
				kv.Path, kv.Image = plugin.Identity.KeyPath, plugin.Plugin.Image
			}
		}
		v.Keys = append(v.Keys, kv)
	}
	for i, n := range s.nodes {
		r := find(n.server.loaded(), s.resources[0])
		sv := ServerView{Node: n.name, Answers: n.server.answers(), Draining: n.draining, Revision: int(s.revisionOn(n)), Refused: n.refused, Read: []int{}}
		if r.HasWriteKey() {
			sv.Write = int(r.Write.ID)
		}
		for _, k := range r.Read {
			sv.Read = append(sv.Read, int(k.ID))
		}
		v.Servers[i] = sv
		v.Converged = v.Converged && sv.Answers && !sv.Draining && n.ready && n.server.seen.hash == s.nodes[0].server.seen.hash && n.server.revision == s.nodes[0].server.revision
	}
	s.viewConditions(&v)
	keks := map[string]bool{}
	for _, gr := range s.resources {
		for _, o := range s.stored(gr) {
			if o.kek != "" {
				keks[o.kek] = true
			}
			if n := s.inventories[gr].count[o]; o.plain() {
				v.Plain += n
			} else {
				v.Sealed += n
			}
		}
	}
	v.KEKs = len(keks)
	return v
}

// viewConditions fills in what the policy's conditions say.
func (s *State) viewConditions(v *View) {
	v.Degraded, v.GivenUp = []string{}, []int{}
	v.Lost = s.condition(v1alpha1.ObjectsLost).Status == metav1.ConditionTrue
	for _, id := range s.policy.Status.GivenUpKeys {
		v.GivenUp = append(v.GivenUp, int(id))
	}
	for _, c := range s.policy.Status.Conditions {
		name, degraded := strings.CutSuffix(c.Type, "ControllerDegraded")
		if degraded && c.Status == metav1.ConditionTrue {
			v.Degraded = append(v.Degraded, strings.TrimPrefix(name, "Encryption")+" "+c.Reason)
		}
	}
	required := s.condition(v1alpha1.KMSPreflightRequired)
	v.Migrating = s.condition(v1alpha1.MigrationProgressing).Status == metav1.ConditionTrue
	v.Required, v.Attempt = string(required.Status), int(required.ObservedGeneration)
	v.Succeeded = s.condition(v1alpha1.KMSPreflightSucceeded).Reason
	v.Leader, v.Checks = s.leader, len(s.kms.pods)
	for _, r := range s.kms.pods {
		v.Checking = v.Checking || !r.gone
		if r.passed {
			v.Passed++
		}
	}
}

// revisionOn is the revision that the API server of a node has loaded.
func (s *State) revisionOn(n *node) int64 {
	if s.config.Rollout == reloadMode {
		return s.numbers[n.server.seen.hash]
	}
	return n.server.revision
}
