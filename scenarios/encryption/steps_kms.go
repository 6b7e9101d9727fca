package encryption

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/fakes/kms"
	"github.com/seedbed-sim/seedbed/scenarios"
)

// credentialSecret and credentialEntry are what KMS plugins refer to.
const (
	credentialSecret = "vault-approle"
	credentialEntry  = "secret-id"
)

// KMSArgs describe a KMS plugin.
type KMSArgs struct {
	Path     string `yaml:"path" form:"required,short" doc:"The key, in the service: another one makes another key in the cluster."`
	Endpoint string `yaml:"endpoint" doc:"The service; vault by default."`
	Image    string `yaml:"image" doc:"The plugin's image; one that begins with broken/ cannot be pulled."`
	Plain    bool   `yaml:"plain" doc:"The plugin needs no credential."`
}

func (a KMSArgs) spec() *v1alpha1.KMS {
	k := &v1alpha1.KMS{
		Identity: v1alpha1.KMSIdentity{Endpoint: "https://vault.example.com", KeyPath: a.Path},
		Plugin:   v1alpha1.KMSPlugin{Image: "example.com/kms-plugin:1"},
	}
	if a.Endpoint != "" {
		k.Identity.Endpoint = "https://" + a.Endpoint + ".example.com"
	}
	if a.Image != "" {
		k.Plugin.Image = a.Image
	}
	if !a.Plain {
		k.References.Secret = &v1alpha1.ObjectReference{Name: credentialSecret, Keys: []string{credentialEntry}}
	}
	return k
}

// UseKMSArgs say which plugin is to be used.
type UseKMSArgs = KMSArgs

// FaultArgs say what is wrong with KMS plugins.
type FaultArgs struct {
	What string `yaml:"what" form:"required,short" enum:"down status-down decrypt-down encrypt-down unhealthy slow hangs flip-flop other-key wrong-version does-not-open" doc:"What is wrong."`
	Node string `yaml:"node" doc:"On which node; all by default."`
	Key  string `yaml:"key" doc:"The id of the key; all by default."`
}

// CheckFaultArgs say what befalls checks.
type CheckFaultArgs struct {
	What string `yaml:"what" form:"required,short" enum:"nothing image-not-pulled unschedulable killed-before-the-report killed-after-the-report ends-without-a-report report-refused node-lost port-collision hangs" doc:"What befalls every check from now on; nothing ends it."`
}

// CredentialArgs say how a credential is replaced.
type CredentialArgs struct {
	Revoke bool `yaml:"revoke" doc:"The one before is no longer valid."`
	Delete bool `yaml:"delete" doc:"The Secret is deleted, and there is none."`
}

// RotateKEKArgs say how plugins see that the service rotated its key.
type RotateKEKArgs struct {
	Lag scenarios.Span `yaml:"lag" form:"short" doc:"How long each plugin takes to see it."`
}

func kmsSteps() []scenarios.StepKind {
	return []scenarios.StepKind{
		scenarios.NewStep("useKMS", "An administrator wants a KMS plugin to be used.", "encryption.useKMS: {path: blue}", useKMS),
		scenarios.NewStep("kmsFault", "From now on something is wrong with KMS plugins, where they run and where they are checked.", "encryption.kmsFault: {what: down, node: node-1}", kmsFault),
		scenarios.NewStep("kmsAnswer", "From now on all KMS plugins answer at a limit, or past one, of what API servers take.", "encryption.kmsAnswer: key id too long", kmsAnswer),
		scenarios.NewStep("kmsWell", "All KMS plugins are well again.", "encryption.kmsWell:", kmsWell),
		scenarios.NewStep("deleteLost", "For a while an administrator deletes what is said to be lost with a KMS plugin that is dead.", "encryption.deleteLost: 2h", deleteLost),
		scenarios.NewStep("checkFault", "From now on something befalls the Pods that check KMS plugins.", "encryption.checkFault: image-not-pulled", setCheckFault),
		scenarios.NewStep("deleteCheck", "Somebody deletes the Pod that checks a KMS plugin.", "encryption.deleteCheck:", deleteCheck),
		scenarios.NewStep("credential", "Somebody replaces the credential of KMS plugins in the Secret that they refer to.", "encryption.credential: {revoke: true}", credential),
		scenarios.NewStep("rotateKEK", "The key management service rotates the key that it keeps.", "encryption.rotateKEK: 0s..3m", rotateKEK),
	}
}

func useKMS(st *scenarios.Story, s *State, args UseKMSArgs) error {
	st.Tell("policy", "wants the KMS key %s, with the image %s", args.Path, args.spec().Plugin.Image)
	if err := s.ensureCredential(); err != nil {
		return err
	}
	return s.editPolicy(func(p *v1alpha1.EncryptionPolicySpec) { p.Type, p.KMS = v1alpha1.TypeKMS, args.spec() })
}

// ensureCredential makes the Secret with a credential unless it is there.
func (s *State) ensureCredential() error {
	err := s.operator.Get(background, client.ObjectKey{Namespace: References, Name: credentialSecret}, &corev1.Secret{})
	if !apierrors.IsNotFound(err) {
		return err
	}
	return s.writeCredential(s.newCredential(false))
}

func (s *State) writeCredential(value string) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: References, Name: credentialSecret}}
	err := s.operator.Get(background, client.ObjectKeyFromObject(secret), secret)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("get Secret %s: %w", credentialSecret, err)
	}
	secret.Data = map[string][]byte{credentialEntry: []byte(value)}
	if err != nil {
		err = s.operator.Create(background, secret)
	} else {
		err = s.operator.Update(background, secret)
	}
	if err != nil {
		return fmt.Errorf("write Secret %s: %w", credentialSecret, err)
	}
	return nil
}

func kmsFault(st *scenarios.Story, s *State, args FaultArgs) error {
	node, key := anyPlugin, anyPlugin
	if args.Node != "" {
		node = args.Node
	}
	if args.Key != "" {
		key = args.Key
	}
	st.Tell("KMS", "KMS plugins: %s, on node %s, of key %s", args.What, node, key)
	s.kms.faults[faultKey(node, key)] = kmsFaults[args.What]()
	s.behaveAll()
	return nil
}

// AnswerArgs name an answer.
type AnswerArgs struct {
	Name string `yaml:"name" form:"required,short" doc:"One of kms.Answers."`
	Key  string `yaml:"key" doc:"The id of the key; all by default."`
}

func kmsAnswer(st *scenarios.Story, s *State, args AnswerArgs) error {
	all := kms.Answers()
	i := slices.IndexFunc(all, func(a kms.Answer) bool { return a.Name == args.Name })
	if i < 0 {
		var names []string
		for _, a := range all {
			names = append(names, a.Name)
		}
		return fmt.Errorf("there is no answer %q; write one of %s", args.Name, strings.Join(names, ", "))
	}
	key := anyPlugin
	if args.Key != "" {
		key = args.Key
	}
	st.Tell("KMS", "KMS plugins answer: %s, of key %s", args.Name, key)
	s.kms.faults[faultKey(anyPlugin, key)] = all[i].Behaviour
	s.behaveAll()
	return nil
}

// NoArgs are those of a step that takes none.
type NoArgs struct{}

func kmsWell(st *scenarios.Story, s *State, _ NoArgs) error {
	st.Tell("KMS", "KMS plugins are well again")
	clear(s.kms.faults)
	s.behaveAll()
	return nil
}

func setCheckFault(st *scenarios.Story, s *State, args CheckFaultArgs) error {
	st.Tell("preflight", "from now on, checks: %s", strings.ReplaceAll(args.What, "-", " "))
	if s.kms.next = checkFault(args.What); args.What == "nothing" {
		s.kms.next = noCheckFault
	}
	return nil
}

func deleteCheck(st *scenarios.Story, s *State, _ NoArgs) error {
	st.Tell("preflight", "deletes the Pod of the check")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: checkPod}}
	if err := s.operator.Delete(background, pod, client.GracePeriodSeconds(0)); err != nil {
		return fmt.Errorf("delete Pod %s: %w", checkPod, err)
	}
	return nil
}

func credential(st *scenarios.Story, s *State, args CredentialArgs) error {
	if args.Delete {
		st.Tell("KMS", "deletes the Secret with the credential")
		if err := s.operator.Delete(background, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: References, Name: credentialSecret}}); err != nil {
			return fmt.Errorf("delete Secret %s: %w", credentialSecret, err)
		}
		return nil
	}
	st.Tell("KMS", "replaces the credential; revoked is the one before: %v", args.Revoke)
	value := s.newCredential(args.Revoke)
	err := s.writeCredential(value)
	s.behaveAll()
	return err
}

func rotateKEK(st *scenarios.Story, s *State, args RotateKEKArgs) error {
	lag := func() time.Duration { return st.DrawSpan("lag", args.Lag) }
	st.Tell("KMS", "the service rotates its keys: %s", s.rotateKEK(lag))
	return nil
}

// keyNumber finds the place of a key, the newest first, by what a scenario calls it:
// newest, oldest, or its id.
func (s *State) keyNumber(which string) (string, error) {
	all := s.history.all()
	i := 0
	switch which {
	case "newest", "":
	case "oldest":
		i = len(all) - 1
	default:
		i = slices.IndexFunc(all, func(k *storedKey) bool { return strings.HasSuffix(k.secret.Name, "-"+which) })
	}
	if i < 0 || i >= len(all) {
		return "", fmt.Errorf("key %s: %w", which, errNothing)
	}
	return all[i].secret.Name, nil
}
