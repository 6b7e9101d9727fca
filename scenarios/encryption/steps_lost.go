package encryption

import (
	"regexp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/scenarios"
)

// DeleteLostArgs say for how long.
type DeleteLostArgs struct {
	For scenarios.Duration `yaml:"for" form:"required,short" doc:"How long at most; until everything is rewritten."`
}

// lostObject is how the condition names an object.
var lostObject = regexp.MustCompile(`([a-z.]+) ([a-z0-9-]+)/([a-z0-9.-]+[a-z0-9])`)

// deleteLost goes by what the condition says, so that what it does not say stays lost.
func deleteLost(st *scenarios.Story, s *State, args DeleteLostArgs) error {
	for end := st.Engine().Elapsed() + args.For.Std(); st.Engine().Elapsed() < end && s.policyIsMet() != nil; {
		if c := s.condition(v1alpha1.ObjectsLost); c.Status == metav1.ConditionTrue {
			for _, name := range lostObject.FindAllStringSubmatch(c.Message, -1) {
				s.deleteUnread(st, schema.ParseGroupResource(name[1]), client.ObjectKey{Namespace: name[2], Name: name[3]})
			}
		}
		if err := st.Sleep(lostEvery); err != nil {
			return err
		}
	}
	return nil
}

// deleteUnread deletes an object that cannot be read, at an API server that cannot.
func (s *State) deleteUnread(st *scenarios.Story, gr schema.GroupResource, name client.ObjectKey) {
	kind, err := served{s}.PreferredKind(background, gr)
	if err != nil {
		return // the words of the message that only look like a name
	}
	for _, n := range s.nodes {
		if !n.server.answers() {
			continue
		}
		s.history.writer, s.history.manager = "", "" // no admission, which tells of others, is asked
		_, err := n.server.instance.Server().Do(&apiserver.Request{
			Verb: apiserver.Delete, Resource: gr.WithVersion(kind.Version), Namespace: name.Namespace, Name: name.Name,
			DeleteOptions: &metav1.DeleteOptions{IgnoreStoreReadErrorWithClusterBreakingPotential: ptr.To(true)},
		})
		if err == nil {
			st.Tell("loss", "deletes %s %s, which nobody can read", gr, name)
			s.world.Engine().Touch()
			return
		}
	}
}

// lostEvery is the time between two looks of who deletes what is lost.
const lostEvery = time.Minute
