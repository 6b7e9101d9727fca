package encryption

import (
	"context"
	"time"

	"k8s.io/kms/pkg/service"

	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/kmshealth"
	"github.com/seedbed-sim/seedbed/fakes/kms"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// runHealth is the main function of the process that asks the KMS plugins of a node how
// they are.
func (n *node) runHealth(ctx context.Context, env *cluster.Env) {
	n.returned()
	kmshealth.New(kmshealth.Config{
		Live: env.Kube, Clock: env.Clock, Entropy: env.Entropy, Node: n.name, Log: n.state.logOf(env),
		Plugins: func(context.Context) ([]kmshealth.Plugin, error) {
			var all []kmshealth.Plugin
			for _, p := range n.plugins {
				conn, err := n.node.Sockets().Dial(config.KMSEndpoint(p.id), kmshealth.StatusTimeout, env.Entropy)
				if err != nil {
					return nil, err
				}
				all = append(all, kmshealth.Plugin{KeyID: p.id, Service: channel{conn, env.Clock}})
			}
			return all, nil
		},
	}).Run(ctx)
}

// channel is a gRPC channel to a plugin for who can wait.
type channel struct {
	conn  *kms.Conn
	clock clock.Clock
}

func waited[R any](ctx context.Context, c channel, r R, took time.Duration, err error) (R, error) {
	if e := c.clock.Sleep(ctx, took); e != nil {
		return r, e
	}
	return r, err
}

// Status implements service.Service.
func (c channel) Status(ctx context.Context) (*service.StatusResponse, error) {
	r, took, err := c.conn.Status()
	return waited(ctx, c, r, took, err)
}

// Encrypt implements service.Service.
func (c channel) Encrypt(ctx context.Context, uid string, data []byte) (*service.EncryptResponse, error) {
	r, took, err := c.conn.Encrypt(uid, data)
	return waited(ctx, c, r, took, err)
}

// Decrypt implements service.Service.
func (c channel) Decrypt(ctx context.Context, uid string, req *service.DecryptRequest) ([]byte, error) {
	r, took, err := c.conn.Decrypt(uid, req)
	return waited(ctx, c, r, took, err)
}
