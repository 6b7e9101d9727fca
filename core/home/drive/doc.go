// Package drive is the consumer of a home: the loop that an agent runs on it.
//
// A grant that comes in is verified, admitted and its template built; then the home is
// told that it is warm. A grant that is removed is revoked. When the scope is lost the
// agent's epoch grows, which fences off everything that runs.
//
//	Home.Grants ─▶ Drive ─▶ Verifier ─▶ Agent.Admit ─▶ Home.PublishReady
//	Home.OnScopeLost ─▶ Agent.ScopeLost ─▶ epoch file
//
// The [Agent] here keeps the books of a real one: epoch, admitted grants, deny list,
// leases. It starts no workers; [Templates] stands for what builds them.
package drive
