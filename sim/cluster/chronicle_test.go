package cluster_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// notes is what a run notes of some kinds, a line each.
func notes(records []engine.Record, kinds ...string) []string {
	var lines []string
	for _, r := range records {
		for _, kind := range kinds {
			if r.Kind == kind {
				lines = append(lines, strings.Join(strings.Fields(fmt.Sprintln(r.At.Milliseconds(), r.Kind, r.Actor, r.Peer, r.Verb, r.Object, r.Since.Milliseconds())), " "))
			}
		}
	}
	return lines
}

func TestARunIsNoted(t *testing.T) {
	l := newLab(t, cluster.Config{Engine: engine.Config{Trace: engine.TraceNotes}})
	l.agent(func(ctx context.Context, env *cluster.Env) {
		l.must(env.Client.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "x"}}))
		_ = env.Clock.Sleep(ctx, time.Hour) // until the end of the run
	})
	l.at(time.Second, func() {
		l.must(l.c.Admin().Delete(context.Background(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "x"}}))
	})
	l.at(2*time.Second, func() {
		stop := l.c.StartFault(cluster.Fault{Kind: "api-latency"})
		l.c.Engine().After(time.Second, func(any) { stop() }, nil)
	})
	records := l.c.Engine().RunTo(4 * time.Second).Records
	var states []string
	for _, line := range notes(records, cluster.NoteState) {
		if strings.Contains(line, "configmaps/default/x") {
			states = append(states, line)
		}
	}
	if diff := cmp.Diff([]string{
		"1 state node-1/agent write configmaps/default/x 0",
		"1000 state delete configmaps/default/x 0",
	}, states); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"1 call node-1/agent apiserver-0 create configmaps/default/x 0",
		"2 answer node-1/agent apiserver-0 create configmaps/default/x 1",
		"2000 begin api-latency 0",
		"3000 end 0",
	}, notes(records, cluster.NoteCall, cluster.NoteAnswer, cluster.NoteBegin, cluster.NoteEnd)); diff != "" {
		t.Errorf("calls, answers, faults (-want +got):\n%s", diff)
	}
}

// The states of a Secret tell that a value changed, and when two are the same, and
// nothing else.
func TestNotesHoldNoSecrets(t *testing.T) {
	l := newLab(t, cluster.Config{Engine: engine.Config{Trace: engine.TraceNotes}})
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "s", Annotations: map[string]string{
			corev1.LastAppliedConfigAnnotation: `{"stringData":{"password":"hunter2"}}`,
		}},
		Data: map[string][]byte{"password": []byte("hunter2"), "same": []byte("hunter2"), "other": []byte("swordfish")},
	}
	l.at(time.Second, func() { l.must(l.c.Admin().Create(context.Background(), secret)) })
	var state string
	for _, r := range l.c.Engine().RunTo(2 * time.Second).Records {
		if r.Object == "secrets/default/s" {
			state = r.State
		}
	}
	for _, want := range []string{
		`"other":"(9 bytes, value 1 of this run)"`, `"password":"(7 bytes, value 2 of this run)"`, `"same":"(7 bytes, value 2 of this run)"`,
		`last-applied-configuration":"(left out)"`,
	} {
		if !strings.Contains(state, want) {
			t.Errorf("%s is not in the state\n%s", want, state)
		}
	}
	for _, secret := range []string{"hunter2", "aHVudGVyMg", "swordfish", "c3dvcmRmaXNo"} {
		if strings.Contains(state, secret) {
			t.Errorf("%s is in the state\n%s", secret, state)
		}
	}
}
