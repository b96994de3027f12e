-- Nothing here needs temporary tables, and one of the name of a real table would come before it.
DO $$ BEGIN EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database()); END $$;
