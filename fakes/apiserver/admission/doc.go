// Package admission lets functions in the same process stand for admission
// webhooks: they see what a webhook would be sent, may change or refuse it, and
// a refusal reads as a webhook's does.
//
// A [Chain] holds hooks. The server asks it twice on a create or update, first
// the mutating hooks in order, some of them again if later ones have changed the
// object, then, after the object has been validated, the validating ones; on a delete
// once, with both. Webhook configuration objects
// are not involved: a hook carries its own [Match]. Package webhook makes hooks of them.
package admission
