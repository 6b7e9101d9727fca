//go:build cgo

package hsm

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/miekg/pkcs11"

	"github.com/seedbed-sim/seedbed/realmode/kms"
	"github.com/seedbed-sim/seedbed/realmode/kms/protected"
)

// pinMax is the size of the largest file with a PIN.
const pinMax = 4096

// keysMax is how many versions there may be.
const keysMax = 10_000

// token is a session with one. It is used by one caller at a time.
type token struct {
	module  *pkcs11.Ctx
	session pkcs11.SessionHandle
}

// open loads the module and logs in.
func open(cfg *Config) (*token, error) {
	module := pkcs11.New(cfg.Module)
	if module == nil {
		return nil, fmt.Errorf("the module %s cannot be loaded: it is not there, or no library", cfg.Module)
	}
	// A process has one state of a module: who comes second finds it as it is.
	if err := module.Initialize(); err != nil && !is(err, pkcs11.CKR_CRYPTOKI_ALREADY_INITIALIZED) {
		module.Destroy()
		return nil, fmt.Errorf("initialize the module %s: %w", cfg.Module, meaning(err))
	}
	t := &token{module: module}
	if err := t.login(cfg); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

func (t *token) login(cfg *Config) error {
	slot, err := t.slot(cfg.Token)
	if err != nil {
		return err
	}
	if t.session, err = t.module.OpenSession(slot, pkcs11.CKF_SERIAL_SESSION|pkcs11.CKF_RW_SESSION); err != nil {
		return fmt.Errorf("open a session with the token %q: %w", cfg.Token, meaning(err))
	}
	pin, err := protected.Read(cfg.PINFile, pinMax)
	if err != nil {
		return err
	}
	defer clear(pin)
	err = t.module.Login(t.session, pkcs11.CKU_USER, strings.TrimSpace(string(pin)))
	if err != nil && !is(err, pkcs11.CKR_USER_ALREADY_LOGGED_IN) {
		return fmt.Errorf("log in to the token %q: %w", cfg.Token, meaning(err))
	}
	return nil
}

func (t *token) slot(label string) (uint, error) {
	slots, err := t.module.GetSlotList(true)
	if err != nil {
		return 0, fmt.Errorf("list the slots: %w", meaning(err))
	}
	found := []uint{}
	for _, slot := range slots {
		if info, err := t.module.GetTokenInfo(slot); err == nil && strings.TrimRight(info.Label, " \x00") == label {
			found = append(found, slot)
		}
	}
	if len(found) != 1 {
		return 0, fmt.Errorf("%w: there are %d tokens with the label %q", kms.ErrUnavailable, len(found), label)
	}
	return found[0], nil
}

// close ends the session. The module stays: others may use it.
func (t *token) close() {
	if t.session != 0 {
		_ = t.module.CloseSession(t.session) // it may be gone already
	}
}

// found is a version of a key.
type found struct {
	number int
	handle pkcs11.ObjectHandle
}

// keys returns the versions of a key, in the order of their numbers.
func (t *token) keys(label string) ([]found, error) {
	err := t.module.FindObjectsInit(t.session, []*pkcs11.Attribute{
		pkcs11.NewAttribute(pkcs11.CKA_CLASS, pkcs11.CKO_SECRET_KEY), pkcs11.NewAttribute(pkcs11.CKA_KEY_TYPE, pkcs11.CKK_AES), pkcs11.NewAttribute(pkcs11.CKA_LABEL, label),
	})
	if err != nil {
		return nil, fmt.Errorf("look for the key %q: %w", label, meaning(err))
	}
	handles, _, err := t.module.FindObjects(t.session, keysMax)
	if ended := t.module.FindObjectsFinal(t.session); err == nil {
		err = ended
	}
	if err != nil {
		return nil, fmt.Errorf("look for the key %q: %w", label, meaning(err))
	}
	all := make([]found, len(handles))
	for i, h := range handles {
		attributes, err := t.module.GetAttributeValue(t.session, h, []*pkcs11.Attribute{pkcs11.NewAttribute(pkcs11.CKA_ID, nil)})
		if err != nil {
			return nil, fmt.Errorf("look at the key %q: %w", label, meaning(err))
		}
		n, err := strconv.Atoi(string(attributes[0].Value))
		if err != nil || n < 1 || strconv.Itoa(n) != string(attributes[0].Value) {
			return nil, fmt.Errorf("a key with the label %q has an id that is no number of a version", label)
		}
		all[i] = found{n, h}
	}
	slices.SortFunc(all, func(a, b found) int { return a.number - b.number })
	for i := range all {
		if i > 0 && all[i].number == all[i-1].number {
			return nil, fmt.Errorf("there are two keys with the label %q and the id %d", label, all[i].number)
		}
	}
	return all, nil
}

// make makes a version of a key, which never leaves the token.
func (t *token) make(label string, number int) error {
	_, err := t.module.GenerateKey(t.session, []*pkcs11.Mechanism{pkcs11.NewMechanism(pkcs11.CKM_AES_KEY_GEN, nil)}, []*pkcs11.Attribute{
		pkcs11.NewAttribute(pkcs11.CKA_CLASS, pkcs11.CKO_SECRET_KEY), pkcs11.NewAttribute(pkcs11.CKA_KEY_TYPE, pkcs11.CKK_AES), pkcs11.NewAttribute(pkcs11.CKA_VALUE_LEN, keySize),
		pkcs11.NewAttribute(pkcs11.CKA_LABEL, label), pkcs11.NewAttribute(pkcs11.CKA_ID, []byte(strconv.Itoa(number))),
		pkcs11.NewAttribute(pkcs11.CKA_TOKEN, true), pkcs11.NewAttribute(pkcs11.CKA_PRIVATE, true), pkcs11.NewAttribute(pkcs11.CKA_SENSITIVE, true), pkcs11.NewAttribute(pkcs11.CKA_EXTRACTABLE, false),
		pkcs11.NewAttribute(pkcs11.CKA_ENCRYPT, true), pkcs11.NewAttribute(pkcs11.CKA_DECRYPT, true),
	})
	if err != nil {
		return fmt.Errorf("make version %d of the key %q: %w", number, label, meaning(err))
	}
	return nil
}

func (t *token) encrypt(m *pkcs11.Mechanism, h pkcs11.ObjectHandle, text []byte) ([]byte, error) {
	if err := t.module.EncryptInit(t.session, []*pkcs11.Mechanism{m}, h); err != nil {
		return nil, meaning(err)
	}
	sealed, err := t.module.Encrypt(t.session, text)
	return sealed, meaning(err)
}

func (t *token) decrypt(m *pkcs11.Mechanism, h pkcs11.ObjectHandle, sealed []byte) ([]byte, error) {
	if err := t.module.DecryptInit(t.session, []*pkcs11.Mechanism{m}, h); err != nil {
		return nil, meaning(err)
	}
	text, err := t.module.Decrypt(t.session, sealed)
	return text, meaning(err)
}

func is(err error, code uint) bool {
	var e pkcs11.Error
	return errors.As(err, &e) && uint(e) == code
}

// meaning is an error of a module in the terms of providers. All that is not about what
// was asked is about the token.
func meaning(err error) error {
	var e pkcs11.Error
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &e):
		return err
	}
	switch uint(e) {
	case pkcs11.CKR_PIN_INCORRECT, pkcs11.CKR_PIN_LOCKED, pkcs11.CKR_PIN_EXPIRED, pkcs11.CKR_USER_NOT_LOGGED_IN, pkcs11.CKR_KEY_FUNCTION_NOT_PERMITTED:
		return fmt.Errorf("%w: %w", kms.ErrForbidden, err)
	case pkcs11.CKR_ENCRYPTED_DATA_INVALID, pkcs11.CKR_ENCRYPTED_DATA_LEN_RANGE:
		return fmt.Errorf("%w: %w", kms.ErrBroken, err)
	}
	return fmt.Errorf("%w: %w", kms.ErrUnavailable, err)
}
