package conformance

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apiserver/pkg/server/options/encryptionconfig"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/encryption"
	"github.com/seedbed-sim/seedbed/fakes/kms"
)

// TestPluginsHaveOneCheck: whoever wants an API server to be ready without one of its
// plugins has to leave out the check of all, with or without automatic reload, and a
// server starts with a plugin that is dead.
func TestPluginsHaveOneCheck(t *testing.T) {
	name := write(t, "", forSecrets("k1", "k2", "i"))
	for _, reload := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			dead := kms.NewPlugin(kms.NewVault("kek-2"), nil)
			dead.Behave(down)
			dial{endpoint("1"): kms.NewPlugin(kms.NewVault("kek-1"), nil), endpoint("2"): dead}.use(t)
			c, err := encryptionconfig.LoadEncryptionConfig(ctx, name, reload, "id")
			if err != nil {
				t.Fatal(err)
			}
			if len(c.HealthChecks) != 1 || c.HealthChecks[0].Name() != encryption.PluginsCheck {
				t.Errorf("reload %t: there are %d checks, the first is %s", reload, len(c.HealthChecks), c.HealthChecks[0].Name())
			}
			cancel()
			time.Sleep(time.Minute)
			synctest.Wait()
		})
	}
}
