package encryption_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/encryption"
	"github.com/seedbed-sim/seedbed/fakes/kms"
)

// running starts an API server with automatic reload.
func (l *lab) running(providers ...string) *encryption.Loader {
	l.t.Helper()
	l.file = forSecrets(providers...)
	s, err := l.start(true)
	if err != nil {
		l.t.Fatal(err)
	}
	return s
}

// tells is what the metrics of a process tell: whether the file is loaded, and how often
// that went well and wrong.
func (l *lab) tells(s *encryption.Loader) string {
	i := s.Info()
	return fmt.Sprintf("loaded=%v +%d -%d", i.Hash == encryption.HashOf([]byte(l.file)), i.Succeeded, i.Failed)
}

func TestAFileThatChangesIsLoadedWithinAMinute(t *testing.T) {
	l := newLab(t)
	s := l.running("c1", "i")
	l.timers.Advance(10 * time.Minute)
	l.equal("unchanged", l.tells(s), "loaded=true +0 -0")
	l.file = forSecrets("c2", "c1", "i")
	l.timers.Advance(59 * time.Second)
	l.equal("before the minute is over", l.tells(s), "loaded=false +0 -0")
	l.timers.Advance(time.Second)
	l.equal("after it", l.tells(s), "loaded=true +1 -0")
	l.equal("seals by", l.write(s.Transformers().For(secrets)).SealedBy().String(), "aescbc:2")
	l.equal("since", s.Info().Since, l.timers.Now())
}

// TestABadFileKeepsTheOld, and is tried again with growing pauses, and each minute.
func TestABadFileKeepsTheOld(t *testing.T) {
	for name, file := range map[string]string{"half": head, "gone": "missing", "empty": "", "invalid": head + element("Secrets", "i")} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			s := l.running("c1", "i")
			good := s.Info().Hash
			l.file = file
			l.timers.Advance(5 * time.Minute)
			l.equal("what is in force", s.Info().Hash, good)
			// 5 ms, 10 ms, … and so 15 times in the first minutes, beside one each minute,
			// which in turn makes the pauses longer.
			if n := s.Info().Failed; n < 14 || n > 30 || s.Info().Err == nil {
				t.Errorf("failed %d times, last with %v", n, s.Info().Err)
			}
			l.file = forSecrets("c2", "c1", "i")
			l.timers.Advance(time.Minute)
			l.equal("repaired", s.Info().Hash, encryption.HashOf([]byte(l.file)))
			l.equal("no error is left", s.Info().Err, nil)
		})
	}
}

// TestPluginsMustBeWellBeforeTheirConfigurationIsTaken.
func TestPluginsMustBeWellBeforeTheirConfigurationIsTaken(t *testing.T) {
	l := newLab(t)
	s := l.running("c1", "i")
	l.file = forSecrets("c1", "k1", "i")
	l.timers.Advance(time.Minute)
	l.equal("while it is waited for the plugin", l.tells(s), "loaded=false +0 -0")
	l.timers.Advance(30 * time.Second)
	if i := s.Info(); i.Failed == 0 || !strings.HasPrefix(i.Err.Error(), "health check for new transformers failed, polling error timed out waiting for the condition: kms-provider-0: ") {
		t.Errorf("without the plugin: %+v", i)
	}
	ill := l.plugin("1")
	ill.Behave(kms.Behaviour{Healthz: "ill"})
	l.timers.Advance(5 * time.Minute)
	l.equal("while the plugin is ill", l.tells(s)[:12], "loaded=false")
	ill.Behave(kms.Behaviour{})
	l.timers.Advance(2 * time.Minute)
	l.equal("when it is well", l.tells(s)[:15], "loaded=true +1 ")
	if _, err := s.Check(); err != nil {
		t.Errorf("kms-providers: %v", err)
	}
	ill.Behave(kms.Outage(errors.New("down")))
	l.timers.Advance(time.Minute)
	if _, err := s.Check(); err == nil || !strings.HasPrefix(err.Error(), "kms-provider-0: ") {
		t.Errorf("kms-providers: %v", err)
	}
}

// TestOldTransformersStayForAWhile, for requests that still use them.
func TestOldTransformersStayForAWhile(t *testing.T) {
	l := newLab(t)
	first := l.plugin("1")
	l.plugin("2")
	s := l.running("k1", "i")
	old := s.Transformers().For(secrets)
	l.file = forSecrets("k2", "k1", "i")
	l.timers.Advance(time.Minute)
	l.equal("loaded", l.tells(s), "loaded=true +1 -0")
	l.write(old)
	l.timers.Advance(10 * time.Second) // twice the timeout of 3 s is over
	asked := first.Calls(kms.Status)
	l.file = forSecrets("k2", "i")
	l.timers.Advance(time.Hour)
	l.equal("loaded", l.tells(s), "loaded=true +2 -0")
	if n := first.Calls(kms.Status) - asked; n > 2 {
		t.Errorf("a plugin that no configuration names is asked %d times", n)
	}
	s.Close()
	l.timers.Advance(time.Hour)
}

// TestBothConfigurationsAreRead while the file flips faster than it is looked at.
func TestAFileThatFlips(t *testing.T) {
	l := newLab(t)
	s := l.running("c1", "i")
	for i := range 20 {
		l.file = forSecrets([]string{"c2", "c1"}[i%2], "i")
		l.timers.Advance(17 * time.Second)
	}
	l.timers.Advance(time.Minute)
	l.equal("what is in force in the end", s.Info().Hash, encryption.HashOf([]byte(l.file)))
}
