package apiserver

import (
	"fmt"
	"io/fs"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// LoadCRDs creates the CustomResourceDefinitions in files, and their kinds are
// served from then on:
//
//	err := server.LoadCRDs(os.DirFS("../config/crd"), "bases")
//
// A path names a file, or a folder whose files are read. With mistakes in the files,
// which the error lists as [crd.FileErrors], nothing is created. See
// [crd.Cache.ReadFiles].
func (s *Server) LoadCRDs(fsys fs.FS, paths ...string) error {
	found, err := s.store.opts.Definitions.ReadFiles(fsys, paths...)
	if err != nil {
		return err
	}
	return s.Define(found...)
}

// Define creates CustomResourceDefinitions. It fails if one is refused, or if its
// kind is not served when it returns, as another definition has its names.
func (s *Server) Define(definitions ...*apiextensions.CustomResourceDefinition) error {
	for _, d := range definitions {
		if _, err := s.Do(&Request{Verb: Create, Resource: definitionResource, Object: d}); err != nil {
			return fmt.Errorf("define %s: %w", d.Name, err)
		}
		now, ok := s.definition(d.Name)
		if ok && apihelpers.IsCRDConditionTrue(now, apiextensions.Established) {
			continue
		}
		why := "it is not established"
		if ok {
			if c := apihelpers.FindCRDCondition(now, apiextensions.NamesAccepted); c != nil && c.Status == apiextensions.ConditionFalse {
				why = c.Message
			}
		}
		return fmt.Errorf("define %s: %s", d.Name, why)
	}
	return nil
}
