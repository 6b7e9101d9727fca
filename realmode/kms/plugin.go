package kms

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/kms/pkg/service"

	"github.com/seedbed-sim/seedbed/core/clock"
)

// apiVersion is what Status says; API servers want it not to change.
const apiVersion = "v2"

// plugin answers the calls of API servers. It keeps limits on both sides: what comes
// in, and what a provider gives.
type plugin struct {
	keeper  *keeper
	clock   clock.Clock
	timeout time.Duration
}

var _ service.Service = (*plugin)(nil)

// Status implements service.Service. It asks nobody, so it is as fast when the key
// cannot be reached.
func (p *plugin) Status(context.Context) (*service.StatusResponse, error) {
	r := &service.StatusResponse{Version: apiVersion, Healthz: "ok", KeyID: p.keeper.keyID()}
	if err := p.keeper.healthy(); err != nil {
		r.Healthz = err.Error()
	}
	return r, nil
}

// Encrypt implements service.Service.
func (p *plugin) Encrypt(ctx context.Context, uid string, text []byte) (*service.EncryptResponse, error) {
	if err := both(checkUID(uid), checkText(text)); err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "encrypt: %v", err)
	}
	ctx, cancel := p.clock.WithTimeout(ctx, p.timeout)
	defer cancel()
	id := p.keeper.keyID()
	sealed, err := p.keeper.provider.Seal(ctx, id, text)
	if err != nil {
		return nil, answer(ctx, "encrypt", err)
	}
	if err := checkCiphertext(sealed); err != nil {
		return nil, status.Errorf(codes.Internal, "encrypt: %v", err)
	}
	return &service.EncryptResponse{Ciphertext: sealed, KeyID: id}, nil
}

// Decrypt implements service.Service.
func (p *plugin) Decrypt(ctx context.Context, uid string, r *service.DecryptRequest) ([]byte, error) {
	if err := checkOpen(uid, r); err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "decrypt: %v", err)
	}
	ctx, cancel := p.clock.WithTimeout(ctx, p.timeout)
	defer cancel()
	text, err := p.keeper.provider.Open(ctx, r.KeyID, r.Ciphertext)
	if err != nil {
		return nil, answer(ctx, "decrypt", err)
	}
	return text, nil
}

// answer is the error of a call in terms of gRPC.
func answer(ctx context.Context, what string, err error) error {
	code := codes.Unknown
	for _, c := range []struct {
		is   error
		code codes.Code
	}{
		{context.Canceled, codes.Canceled}, {context.DeadlineExceeded, codes.DeadlineExceeded},
		{ErrUnknownKey, codes.NotFound}, {ErrBroken, codes.InvalidArgument},
		{ErrForbidden, codes.PermissionDenied}, {ErrUnavailable, codes.Unavailable},
	} {
		if errors.Is(err, c.is) {
			code = c.code
			break
		}
	}
	if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) {
		err = fmt.Errorf("%w: %w", ended, err)
	}
	return status.Errorf(code, "%s: %v", what, err)
}
