package mutation

import (
	"go/format"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const whole = `package sample

type keeper struct{ kube client }

func (k *keeper) Reconcile(ctx context.Context, o object) error {
	if o.gone || !o.ours && strict {
		return nil
	}
	if err := k.kube.Create(ctx, o); err != nil && !exists(err) {
		return err
	}
	if o.big {
		k.note(o)
	}
	if err := k.kube.Delete(ctx, o, same(o), client.Preconditions{UID: &o.uid}); err != nil {
		return err
	}
	return k.kube.Update(ctx, o)
}

func judge(o object) bool { return o.gone || o.big }
`

func found(t *testing.T, rules *Rules, text string) *finder {
	t.Helper()
	f, err := find(rules, "sample.go", text, 10)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestEverySiteIsFoundOnce(t *testing.T) {
	f := found(t, &Rules{WithContext: true, Preconditions: []string{"same"}, Given: []string{"strict"}, Writes: []string{"note"}}, whole)
	var got []string
	for _, s := range f.sites {
		got = append(got, s.ID())
	}
	want := []string{
		"sample.go keeper.Reconcile swap-writes: if err := k.kube.Create(ctx, o); err != nil && !exists(err) … and if o.big { k.note(o) } …",
		"sample.go keeper.Reconcile swap-writes: if o.big { k.note(o) } … and if err := k.kube.Delete(ctx, o, same(o), client.Precondition …",
		"sample.go keeper.Reconcile swap-writes: if err := k.kube.Delete(ctx, o, same(o), client.Precondition … and return k.kube.Update(ctx, o) …",
		"sample.go keeper.Reconcile drop-guard: o.gone || !o.ours && strict is taken for false",
		"sample.go keeper.Reconcile skip-check: o.gone is taken for false",
		"sample.go keeper.Reconcile skip-check: !o.ours && strict is taken for false",
		"sample.go keeper.Reconcile skip-check: !o.ours is taken for true",
		"sample.go keeper.Reconcile ignore-error: err != nil && !exists(err) is taken for false",
		"sample.go keeper.Reconcile skip-check: !exists(err) is taken for true",
		"sample.go keeper.Reconcile skip-check: o.big is taken for true",
		"sample.go keeper.Reconcile ignore-error: err != nil is taken for false",
		"sample.go keeper.Reconcile drop-precondition: same(o) is left away",
		"sample.go keeper.Reconcile drop-precondition: UID: &o.uid is left away",
		"sample.go keeper.Reconcile drop-precondition: k.kube.Update(ctx, o) without the resource version",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sites (-want +got):\n%s", diff)
	}
}

func TestSwitchesLeaveTheCodeAsItIs(t *testing.T) {
	const text = `package sample

func (k *keeper) Reconcile(ctx context.Context, o object) (int, error) {
	if o.gone || o.old {
		return 0, nil
	}
	if err := k.kube.Create(ctx, o); err != nil {
		return 0, err
	}
	return 1, k.kube.Update(ctx, o)
}
`
	const want = `package sample

import seedbedSwitches "github.com/seedbed-sim/seedbed/scenarios/mutation/switches"

func (k *keeper) Reconcile(ctx context.Context, o object) (int, error) {
	if !seedbedSwitches.On(11) && ((!seedbedSwitches.On(12) && (o.gone)) || (!seedbedSwitches.On(13) && (o.old))) {
		return 0, nil
	}
	if seedbedSwitches.On(10) {
		if swappedErr := k.kube.Update(ctx, o); swappedErr != nil {
			return 1, swappedErr
		}
		if err := k.kube.Create(ctx, o); err != nil {
			return 0, err
		}
		return 1, nil
	} else {
		if err := k.kube.Create(ctx, o); !seedbedSwitches.On(14) && (err != nil) {
			return 0, err
		}
		return 1, k.kube.Update(ctx, seedbedSwitches.Unversioned(15, o))
	}
}
`
	got, err := format.Source([]byte(found(t, &Rules{}, text).rewritten()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("rewritten (-want +got):\n%s", diff)
	}
}

// TestTheSameTwice: two sites of one text are told apart.
func TestTheSameTwice(t *testing.T) {
	f := found(t, &Rules{}, "package p\n\nfunc f() {\n\tif a {\n\t\tg()\n\t}\n\tif a {\n\t\th()\n\t}\n}\n")
	if len(f.sites) != 2 || f.sites[0].ID() == f.sites[1].ID() || f.sites[1].Again != 2 {
		t.Errorf("sites: %v", f.sites)
	}
}

func TestNothingIsToldOfSleep(t *testing.T) {
	f := found(t, &Rules{}, "package p\n\nfunc f() error {\n\tif err := clock.Sleep(ctx, d); err != nil {\n\t\treturn err\n\t}\n\treturn nil\n}\n")
	if len(f.sites) != 0 {
		t.Errorf("sites: %v", f.sites)
	}
}

func TestWhatIsNoGoIsRefused(t *testing.T) {
	if _, err := find(&Rules{}, "sample.go", "package", 0); err == nil || !strings.Contains(err.Error(), "parse") {
		t.Errorf("error %v", err)
	}
}
